export class DynamicsPage { constructor(place, work, change) { this.place = place; } show() {} }
